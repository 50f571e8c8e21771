def greet(name):
    if name:
x  print("hello", name)
    return name


def leave(name):
    if name:
        print("bye", name)
    return name
