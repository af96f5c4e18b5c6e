import pytest

import ravel

SOURCE = """use Array: all;
float[d:r] conv(float[d:s] a, float[d:t] w) { return { iv -> sum({ ov -> w[ov] * a[iv + ov] }) | iv < s - t + 1 }; }
double[*] twice(double[*] a) { return a + a; }
double[*] same(double[*] a) { return a; }
int[*] negated(int[*] a) { return 0 - a; }
double scale(double x, int n) { return x * tod(n); }
float halved(float x) { return x / 2f; }
ubyte small(ubyte n) { return n; }
long[.] longs(long[.] a) { return a; }
int, double two(int a) { return (a + 1, tod(a)); }
string greet(string who) { return "hello " + who; }
double at(double[.] a, int i) { return a[i]; }
double mean(double[n] a) | n > 0 { return sum(a) / tod(n); }
bool flip(bool a) { return !a; }
double[.] up(int n) { return tod(iota(n)); }
int endless(int n) { x = n; while (x >= 0) { x = (x + 1) % 1000; } return x; }
double busy(int n) { x = 0.0; for (i = 0; i < n; i++) { x = x * 0.5 + tod(i); } return x; }
void nothing(int n) { }
float[*] same4(float[*] a) { return a; }
"""


@pytest.fixture(scope="session")
def m():
    return ravel.module(SOURCE, name="tests")
