def greet(name):
    if name is not None:
        print("hello", name)
    return name


def leave(name):
    if name:
        print("bye", name)
    return name
