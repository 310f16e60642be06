if a:
  pass
elif b: break
else:
	continue
while x: y; z
for i, (j, k) in e, f:
    with a as b, c, (d): pass
    with (a as b, c,):
        raise E('x') from None
assert x, 'y'
del a, b[0], c.d
return a, *b
