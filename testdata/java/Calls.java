/** Calls methods a known number of times, for jdk.MethodTrace and jdk.MethodTiming. */
public class Calls {
    interface Shape {
        double area();
    }

    static class Square implements Shape {
        final double side;

        Square(double side) {
            this.side = side;
        }

        public double area() {
            return side * side;
        }
    }

    static int fibonacci(int n) {
        return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
    }

    static double sum(Shape[] shapes, int from) {
        return from == shapes.length ? 0 : shapes[from].area() + sum(shapes, from + 1);
    }

    static void twice(Runnable work) {
        work.run();
        work.run();
    }

    public static void main(String[] arguments) throws InterruptedException {
        System.out.println(fibonacci(10));
        twice(() -> fibonacci(4));
        Shape[] shapes = new Shape[12];
        for (int i = 0; i < shapes.length; i++) {
            shapes[i] = new Square(i);
        }
        System.out.println(sum(shapes, 0));
        Thread other = new Thread(() -> fibonacci(5), "other");
        other.start();
        other.join();
    }
}
