f([a)
  b
