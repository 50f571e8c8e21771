def greet(name):
    if name:
        print("hello", name)
    return name


def leave(name):
    if name:
        print("farewell", name)
    return name
