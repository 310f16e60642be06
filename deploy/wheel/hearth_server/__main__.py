"""python3 -m hearth_server: prints the folder of the demo's models."""

import hearth_server

print(hearth_server.demo_models())
