// Objects of two classes, whose function is found by the vtable.

struct Shape {
    virtual unsigned area(unsigned scale) const { return scale; }
};

struct Square : Shape {
    unsigned area(unsigned scale) const override { return scale * scale; }
};

struct Line : Shape {
    unsigned area(unsigned scale) const override { return scale % 3 ? scale : scale / 3; }
};

int main() {
    Square square;
    Line line;
    Shape *volatile shapes[] = {&square, &line};
    unsigned sum = 0;
    for (unsigned round = 0; round < 4000; round++) {
        sum += shapes[round % 2]->area(round);
    }
    return sum & 1;
}
