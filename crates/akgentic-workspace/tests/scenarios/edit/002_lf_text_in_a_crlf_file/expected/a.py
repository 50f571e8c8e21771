def greet(name):
    if name:
        print("hello", name)
    return name


def leave(name, twice):
    if name and twice:
        print("bye", name)
    return name
