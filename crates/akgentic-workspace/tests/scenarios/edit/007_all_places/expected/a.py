def greet(who):
    if who:
        print("hello", who)
    return who


def leave(who):
    if who:
        print("bye", who)
    return who
