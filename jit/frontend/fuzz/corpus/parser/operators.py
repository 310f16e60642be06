x = -a ** -b + c // d % e @ f << 1 >> 2 & 3 | 4 ^ ~5
y = not a < b <= c != d is not e not in f and g or h if i else j
x **= 2; x //= 3; x @= y
