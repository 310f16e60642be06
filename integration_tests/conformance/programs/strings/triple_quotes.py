"""Long strings."""


def f():
    return (
        """one
two""",
        """three "quoted"
four""",
    )


calls = [()]
