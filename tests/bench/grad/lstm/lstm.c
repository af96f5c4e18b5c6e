/* LSTM cells with diagonal weights: what the cells compute is kept for all characters, and the text is walked back. */
#include "../peers.h"

/* What one element of a cell has computed. */
struct kept {
    double x, hidden, memory, forget, in, out, change, squashed;
};

static double *weights, *extra, *state, *text;

static inline double sigmoid(double x) { return 1 / (1 + exp(-x)); }

/* One character through all layers; `rows` has the states of layers, `y` what is predicted. */
static void step(const double *given, double *rows, double *y, struct kept *keep)
{
    for (int i = 0; i < B; i++) y[i] = given[i] * extra[i];
    for (int layer = 0; layer < L; layer++) {
        const double *w = weights + layer * 8 * B, *bias = w + 4 * B;
        double *hidden = rows + layer * 2 * B, *memory = hidden + B;
        for (int i = 0; i < B; i++) {
            struct kept k = {.x = y[i], .hidden = hidden[i], .memory = memory[i]};
            k.forget = sigmoid(k.x * w[i] + bias[i]);
            k.in = sigmoid(k.hidden * w[B + i] + bias[B + i]);
            k.out = sigmoid(k.x * w[2 * B + i] + bias[2 * B + i]);
            k.change = tanh(k.hidden * w[3 * B + i] + bias[3 * B + i]);
            memory[i] = k.memory * k.forget + k.in * k.change;
            k.squashed = tanh(memory[i]);
            hidden[i] = y[i] = k.out * k.squashed;
            if (keep) keep[layer * B + i] = k;
        }
    }
    for (int i = 0; i < B; i++) y[i] = y[i] * extra[B + i] + extra[2 * B + i];
}

static double log_sum(const double *y)
{
    double sum = 2;
    for (int i = 0; i < B; i++) sum += exp(y[i]);
    return log(sum);
}

static void objective(double *value)
{
    double rows[2 * L * B], y[B], total = 0;
    memcpy(rows, state, sizeof rows);
    for (int t = 0; t + 1 < C; t++) {
        step(text + t * B, rows, y, NULL);
        double all = log_sum(y);
        for (int i = 0; i < B; i++) total += text[(t + 1) * B + i] * (y[i] - all);
    }
    value[0] = -total / ((C - 1) * B);
}

/* Behind each other: by the weights, by `extra`. */
static void gradient(double *slope)
{
    static struct kept *keep;
    static double *predicted;
    double rows[2 * L * B], back[2 * L * B] = {0}, *of_extra = slope + 8 * L * B;
    if (!keep) {
        keep = memory((size_t)C * L * B, sizeof(struct kept));
        predicted = memory((size_t)C * B, sizeof(double));
    }
    memcpy(rows, state, sizeof rows);
    for (int t = 0; t + 1 < C; t++) step(text + t * B, rows, predicted + t * B, keep + (size_t)t * L * B);
    memset(slope, 0, (8 * L + 3) * B * sizeof(double));
    for (int t = C - 2; t >= 0; t--) {
        const double *y = predicted + t * B, *gold = text + (t + 1) * B;
        double all = log_sum(y), sum = 0, down[B];
        for (int i = 0; i < B; i++) sum += gold[i];
        for (int i = 0; i < B; i++) {
            const struct kept *k = keep + ((size_t)t * L + L - 1) * B + i;
            double dy = (gold[i] - sum * exp(y[i] - all)) * (-1.0 / ((C - 1) * B));
            of_extra[B + i] += dy * k->out * k->squashed;
            of_extra[2 * B + i] += dy;
            down[i] = dy * extra[B + i];
        }
        for (int layer = L - 1; layer >= 0; layer--) {
            const double *w = weights + layer * 8 * B;
            double *dw = slope + layer * 8 * B, *db = dw + 4 * B, *dhidden = back + layer * 2 * B, *dmemory = dhidden + B;
            for (int i = 0; i < B; i++) {
                const struct kept *k = keep + ((size_t)t * L + layer) * B + i;
                double dh = down[i] + dhidden[i], dm = dmemory[i] + dh * k->out * (1 - k->squashed * k->squashed);
                double forget = dm * k->memory * k->forget * (1 - k->forget), in = dm * k->change * k->in * (1 - k->in);
                double out = dh * k->squashed * k->out * (1 - k->out), change = dm * k->in * (1 - k->change * k->change);
                dw[i] += forget * k->x;
                dw[B + i] += in * k->hidden;
                dw[2 * B + i] += out * k->x;
                dw[3 * B + i] += change * k->hidden;
                db[i] += forget;
                db[B + i] += in;
                db[2 * B + i] += out;
                db[3 * B + i] += change;
                down[i] = forget * w[i] + out * w[2 * B + i];
                dhidden[i] = in * w[B + i] + change * w[3 * B + i];
                dmemory[i] = dm * k->forget;
            }
        }
        for (int i = 0; i < B; i++) of_extra[i] += down[i] * text[t * B + i];
    }
}

int main(void)
{
    double value[1], *slope = memory((8 * L + 3) * B, sizeof(double));
    weights = spread(8 * L * B, 1, 1, 0.5);
    extra = spread(3 * B, 2, 1, 0.5);
    state = spread(2 * L * B, 3, 1, 0.5);
    text = memory(C * B, sizeof(double));
    for (int i = 0; i < C * B; i++) text[i] = bits(i, 4) % 2;
    COMPARE(objective(value), value, 1, gradient(slope), slope, (8 * L + 3) * B);
    return 0;
}
