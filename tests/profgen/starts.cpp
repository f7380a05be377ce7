// A function that runs before main. Its name is the same in all translation units.

static unsigned mixed(unsigned rounds) {
    unsigned sum = 0;
    for (unsigned round = 0; round < rounds; round++) {
        sum = round % 3 ? sum * 31 + round : sum ^ round;
    }
    return sum;
}

volatile unsigned rounds = 4000;
unsigned start = mixed(rounds);

int main() { return mixed(start % 2000 + 1000) & 1; }
