"""One pure module per external program: command() and parse(). Only discovery asks the machine what it has."""
