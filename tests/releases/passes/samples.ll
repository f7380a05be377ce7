source_filename = "samples.c"
target datalayout = "e-m:e-i64:64-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

define i32 @leaf(i32 %x) #0 !dbg !10 {
entry:
  %c = icmp sgt i32 %x, 10, !dbg !11
  br i1 %c, label %a, label %b, !dbg !11
a:
  %y = mul i32 %x, 3, !dbg !12
  ret i32 %y, !dbg !12
b:
  %z = add i32 %x, 3, !dbg !13
  ret i32 %z, !dbg !13
}

define i32 @caller(i32 %n, i32 (i32)* %fp) #0 !dbg !20 {
entry:
  br label %head, !dbg !21
head:
  %i = phi i32 [0, %entry], [%i2, %body], !dbg !21
  %c = icmp slt i32 %i, %n, !dbg !22
  br i1 %c, label %body, label %exit, !dbg !22
body:
  %v = call i32 @leaf(i32 %i), !dbg !23
  %w = call i32 %fp(i32 %i), !dbg !24
  %i2 = add i32 %i, 1, !dbg !25
  br label %head, !dbg !25
exit:
  ret i32 0, !dbg !26
}
attributes #0 = { "use-sample-profile" }

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!3, !4}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, producer: "x", isOptimized: true, emissionKind: FullDebug)
!1 = !DIFile(filename: "samples.c", directory: "/")
!2 = !{null}
!3 = !{i32 2, !"Dwarf Version", i32 4}
!4 = !{i32 2, !"Debug Info Version", i32 3}
!5 = !DISubroutineType(types: !2)
!10 = distinct !DISubprogram(name: "leaf", scope: !1, file: !1, line: 10, type: !5, isLocal: false, isDefinition: true, scopeLine: 10, isOptimized: true, unit: !0)
!11 = !DILocation(line: 11, column: 1, scope: !10)
!12 = !DILocation(line: 12, column: 1, scope: !10)
!13 = !DILocation(line: 13, column: 1, scope: !10)
!20 = distinct !DISubprogram(name: "caller", scope: !1, file: !1, line: 20, type: !5, isLocal: false, isDefinition: true, scopeLine: 20, isOptimized: true, unit: !0)
!21 = !DILocation(line: 21, column: 1, scope: !20)
!22 = !DILocation(line: 22, column: 1, scope: !20)
!23 = !DILocation(line: 23, column: 1, scope: !20)
!24 = !DILocation(line: 24, column: 1, scope: !20)
!25 = !DILocation(line: 25, column: 1, scope: !20)
!26 = !DILocation(line: 26, column: 1, scope: !20)
