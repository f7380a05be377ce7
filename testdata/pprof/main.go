// Command shapes calls the methods of shapes through an interface, so that a
// profile shows which receiver is hot, and a function that is too large to be
// inlined without one.
//
//	shapes cpu|heap FILE MILLISECONDS CIRCLES
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"time"
)

var kept [][]byte

//go:noinline
func keep(n int) { kept = append(kept, make([]byte, n)) }

func work(until time.Duration, circles int) (total int) {
	shapes := make([]shape, 16)
	for i := range shapes {
		shapes[i] = square{i + 3}
		if i < circles {
			shapes[i] = circle{i + 3}
		}
	}
	for start := time.Now(); time.Since(start) < until; {
		total += sum(shapes, 100_000)
	}
	return total
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	out, err := os.Create(os.Args[2])
	must(err)
	millis, err := strconv.Atoi(os.Args[3])
	must(err)
	circles, err := strconv.Atoi(os.Args[4])
	must(err)
	until := time.Duration(millis) * time.Millisecond
	if os.Args[1] == "heap" {
		runtime.MemProfileRate = 4096
		for i := 0; i < 200; i++ {
			keep(1000 + i)
		}
		runtime.GC()
		must(pprof.WriteHeapProfile(out))
	} else {
		must(pprof.StartCPUProfile(out))
		total := work(until/2, circles)
		pprof.Do(context.Background(), pprof.Labels("request", "slow"), func(context.Context) {
			total += work(until/2, circles)
		})
		pprof.StopCPUProfile()
		fmt.Println(total != 0)
	}
	must(out.Close())
}
