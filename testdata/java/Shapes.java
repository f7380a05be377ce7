import java.io.InputStream;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntUnaryOperator;

/**
 * What the recordings in this folder were made of: three named threads with
 * different hot methods, overloads, a lambda, deep recursion (deeper than the
 * 64 frames a recording keeps) and a thread that waits in native code.
 *
 * Arguments: seconds to run (default 2).
 */
public class Shapes {
    interface Shape {
        int area(int scale);
    }

    static final class Circle implements Shape {
        public int area(int scale) {
            int sum = 0;
            for (int i = 0; i < 1000; i++) {
                sum += (i * scale) ^ (sum >>> 3);
            }
            return sum;
        }
    }

    static final class Poly implements Shape {
        public int area(int scale) {
            return mix((long) scale, 3) + mix(scale);
        }

        static int mix(long seed, int rounds) {
            long h = seed;
            for (int i = 0; i < 400 * rounds; i++) {
                h = h * 31 + (h >>> 7) + i;
            }
            return (int) h;
        }

        static int mix(int seed) {
            int h = seed;
            for (int i = 0; i < 300; i++) {
                h = Integer.rotateLeft(h, 5) ^ i;
            }
            return h;
        }
    }

    static volatile boolean running = true;
    static volatile int sink;

    static int deep(int n, Shape shape) {
        return n == 0 ? shape.area(n + 7) : deep(n - 1, shape) + 1;
    }

    static void step(Shape shape, int scale) {
        sink += shape.area(scale);
    }

    static void text() {
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < 200; i++) {
            out.append(i).append(',').append(String.valueOf(i * 31));
        }
        sink += out.toString().hashCode();
    }

    static Thread start(String name, Runnable body) {
        Thread thread = new Thread(() -> {
            while (running) {
                body.run();
            }
        }, name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    public static void main(String[] args) throws Exception {
        long millis = (args.length > 0 ? Long.parseLong(args[0]) : 2) * 1000;
        List<Thread> threads = new ArrayList<>();
        threads.add(start("circle worker", () -> step(new Circle(), 5)));
        threads.add(start("poly; worker [2]", () -> step(new Poly(), 9)));
        threads.add(start("deep \u00e9\u4e16", () -> deep(90, new Poly())));
        IntUnaryOperator twice = n -> {
            text();
            return n * 2;
        };
        threads.add(start("text", () -> sink = twice.applyAsInt(sink)));
        ServerSocket server = new ServerSocket(0);
        Socket client = new Socket("127.0.0.1", server.getLocalPort());
        InputStream input = client.getInputStream();
        Thread waiter = new Thread(() -> {
            try {
                input.read();
            } catch (java.io.IOException closed) {
                sink++;
            }
        }, "waiter");
        waiter.setDaemon(true);
        waiter.start();
        Thread.sleep(millis);
        running = false;
        for (Thread thread : threads) {
            thread.join();
        }
    }
}
