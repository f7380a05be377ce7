source_filename = "dir/instr.c"
target datalayout = "e-m:e-i64:64-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

define internal i32 @loc(i32 %x) {
entry:
  %c = icmp sgt i32 %x, 10
  br i1 %c, label %a, label %b
a:
  ret i32 1
b:
  ret i32 2
}

define i32 @ext(i32 %x) {
entry:
  switch i32 %x, label %d [ i32 1, label %one
                            i32 2, label %two ]
one:
  %r = call i32 @loc(i32 %x)
  ret i32 %r
two:
  ret i32 5
d:
  %s = icmp eq i32 %x, 7
  %t = select i1 %s, i32 3, i32 4
  ret i32 %t
}

define i32 @main(i32 %n, i32 (i32)* %fp) {
entry:
  br label %head
head:
  %i = phi i32 [0, %entry], [%i2, %body]
  %c = icmp slt i32 %i, %n
  br i1 %c, label %body, label %exit
body:
  %v = call i32 %fp(i32 %i)
  %i2 = add i32 %i, 1
  br label %head
exit:
  ret i32 0
}
