"""Where every failing program is entered."""

PROGRAMS = {}  # name -> (module class, arguments, calls or None)


def program(*arguments, calls=None):
    def keep(cls):
        PROGRAMS[cls.__name__] = (cls, arguments, calls)
        return cls

    return keep
