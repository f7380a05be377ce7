// Local classes, whose methods debug info of clang 23 declares inside the function, before its counters.

__attribute__((noinline)) static int twice(int number) {
    return number > 3 ? number * 2 : number;
}

__attribute__((noinline)) static int count(int steps) {
    struct Local {
        int sum = 0;
        void add(int number) {
            if (number % 3 != 0)
                sum += twice(number);
        }
    } local;
    auto is_odd = [](int number) { return number % 2 == 1; };
    for (int step = 0; step < steps; step++)
        if (is_odd(step))
            local.add(step);
    return local.sum;
}

int main() {
    return count(20) == 0;
}
