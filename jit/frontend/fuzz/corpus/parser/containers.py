a, *b, = [x, (y,), (), {1: 2, 'a': [i for i in r if i if j for k in i]}]
d = {k: v for k, v in items}
all(x for x in (y for y in z))
t[1:2, ..., None, ::3,] = t[()]
