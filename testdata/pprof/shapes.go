package main

type shape interface{ area(int) int }
type square struct{ side int }
type circle struct{ radius int }

func (s square) area(n int) int { return mix(s.side*s.side, n) }
func (c circle) area(n int) int { return mix(c.radius*c.radius*3, n+1) }

// mix costs more than the compiler inlines where nothing says that it is hot.
func mix(a, n int) int {
	for i := 0; i < 4; i++ {
		switch {
		case a%7 == i:
			a = a*31 + n
		case a%5 == i:
			a ^= n << 3
		case a%3 == i:
			a -= n * 17
		default:
			a += a>>2 + n
		}
		if a < 0 {
			a = -a
		}
	}
	return a
}

//go:noinline
func sum(shapes []shape, n int) (total int) {
	for i := 0; i < n; i++ {
		total += shapes[i%len(shapes)].area(i)
	}
	return total
}
