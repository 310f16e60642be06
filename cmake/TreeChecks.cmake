# The rules of the tree as tests of ctest: what each room may include, names, tests that documents name,
# formatting, and that these checks can fail. And the experiments that decided a design (benchmarks/experiments/), so that
# they stay true.
set(check_python /usr/bin/python3)
add_test(NAME check_includes COMMAND ${check_python} ${CMAKE_SOURCE_DIR}/scripts/check_includes.py)
add_test(NAME check_names COMMAND ${check_python} ${CMAKE_SOURCE_DIR}/scripts/check_names.py)
add_test(NAME check_named_tests COMMAND ${check_python} ${CMAKE_SOURCE_DIR}/scripts/check_named_tests.py)
add_test(NAME check_format COMMAND ${CMAKE_SOURCE_DIR}/scripts/check_format)
add_test(NAME checks_can_fail COMMAND ${check_python} ${CMAKE_SOURCE_DIR}/scripts/checks_test.py)
add_test(NAME scripts_keep_their_promises COMMAND ${check_python} ${CMAKE_SOURCE_DIR}/scripts/scripts_test.py)
add_test(NAME experiments COMMAND ${CMAKE_SOURCE_DIR}/.venv/bin/python -m pytest -q -p no:cacheprovider benchmarks/experiments
         WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
# The longest: begun first.
set_tests_properties(scripts_keep_their_promises PROPERTIES COST 1000)
