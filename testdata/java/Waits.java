import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.locks.LockSupport;

/**
 * What the recordings of events in this folder were made of: allocations, a
 * contended monitor, Object.wait, parking, and reads and writes of a file and a
 * socket, each in a thread of its own name.
 */
public class Waits {
    static final Object MONITOR = new Object();
    static volatile Object sink;

    static void hold(int millis) throws Exception {
        synchronized (MONITOR) {
            Thread.sleep(millis);
        }
    }

    static void contend() throws Exception {
        for (int round = 0; round < 10; round++) {
            hold(3);
        }
    }

    static void await() throws Exception {
        Object own = new Object();
        synchronized (own) {
            for (int round = 0; round < 5; round++) {
                own.wait(2);
            }
        }
    }

    static void park() {
        for (int round = 0; round < 5; round++) {
            LockSupport.parkNanos(2_000_000);
        }
    }

    static void allocate() {
        for (int round = 0; round < 2000; round++) {
            sink = small(round);
            sink = new long[(round % 7 == 0 ? 300_000 : 1_000)];
        }
    }

    static String small(int round) {
        return "round " + round;
    }

    static void files() throws Exception {
        File file = File.createTempFile("waits", ".bin");
        try {
            try (FileOutputStream out = new FileOutputStream(file)) {
                for (int round = 0; round < 8; round++) {
                    out.write(new byte[1000 * round + 1]);
                }
            }
            try (FileInputStream in = new FileInputStream(file)) {
                byte[] bytes = new byte[4096];
                while (in.read(bytes) >= 0) {
                    sink = bytes;
                }
            }
        } finally {
            file.delete();
        }
    }

    static void sockets() throws Exception {
        try (ServerSocket server = new ServerSocket(0)) {
            Thread writer = start("writer", () -> {
                try (Socket peer = server.accept(); OutputStream out = peer.getOutputStream()) {
                    for (int round = 1; round <= 5; round++) {
                        Thread.sleep(2);
                        out.write(new byte[100 * round]);
                    }
                }
            });
            try (Socket client = new Socket("127.0.0.1", server.getLocalPort()); InputStream in = client.getInputStream()) {
                byte[] bytes = new byte[512];
                while (in.read(bytes) >= 0) {
                    sink = bytes;
                }
            }
            writer.join();
        }
    }

    interface Body {
        void run() throws Exception;
    }

    static Thread start(String name, Body body) {
        Thread thread = new Thread(() -> {
            try {
                body.run();
            } catch (Exception broken) {
                throw new IllegalStateException(broken);
            }
        }, name);
        thread.start();
        return thread;
    }

    public static void main(String[] args) throws Exception {
        Thread[] threads = {
            start("contender 1", Waits::contend),
            start("contender 2", Waits::contend),
            start("waiter", Waits::await),
            start("parker", Waits::park),
            start("allocator", Waits::allocate),
            start("files", Waits::files),
            start("sockets", Waits::sockets),
        };
        for (Thread thread : threads) {
            thread.join();
        }
    }
}
