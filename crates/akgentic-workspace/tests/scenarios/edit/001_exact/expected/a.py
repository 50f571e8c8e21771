def greet(name):
    if name:
        print("good day", name)
    return name


def leave(name):
    if name:
        print("bye", name)
    return name
