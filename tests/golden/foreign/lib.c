#include <stdlib.h>
#include <string.h>
#include <stdbool.h>
int add(int a, int b) { return a + b; }
double scale(double x, float y) { return x * y; }
bool is_even(short n) { return n % 2 == 0; }
unsigned char up(unsigned char c) { return c - 32; }
void subfrom(int *x, int y) { *x -= y; }
int *sub(int *x, int *y) { int *r = malloc(5 * sizeof(int)); for (int i = 0; i < 5; i++) r[i] = x[i] - y[i]; return r; }
void subarr(int *x, int *y) { for (int i = 0; i < 5; i++) x[i] -= y[i]; }
double total(double *v, int n) { double s = 0; for (int i = 0; i < n; i++) s += v[i]; return s; }
void divmod(int *q, int *r, int a, int b) { *q = a / b; *r = a % b; }
double *ramp(int n) { double *r = malloc(n * sizeof *r); for (int i = 0; i < n; i++) r[i] = i * 0.5; return r; }
void outer(double **r, double *a, double *b, int n, int m) { *r = malloc(n*m*sizeof(double)); for (int i=0;i<n;i++) for(int j=0;j<m;j++) (*r)[i*m+j]=a[i]*b[j]; }
int length(char *s) { return strlen(s); }
char *greet(char *s) { static char b[64]; strcpy(b, "hello "); strcat(b, s); return b; }
struct stack { int n; int v[16]; };
static int live = 0;
struct stack *empty_stack(void) { live++; return calloc(1, sizeof(struct stack)); }
struct stack *push(struct stack *s, int x) { struct stack *t = malloc(sizeof *t); *t = *s; t->v[t->n++] = x; live++; return t; }
int top(struct stack *s) { return s->v[s->n - 1]; }
void free_stack(struct stack *s) { live--; free(s); }
int alive(void) { return live; }
static int counter = 0;
void tick(int by) { counter += by; }
int ticks(void) { return counter; }
