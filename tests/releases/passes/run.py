#!/usr/bin/env python3
"""Runs a profile pass of an old LLVM on a module with each profile, and prints the modules, each with a form feed.

    run.py LIBRARY instr|sample MODULE.ll PROFILE...

LIBRARY is the libllvmlite.so of a release, which contains the passes but does not export the functions that create
them. They are called by their addresses in its symbol table.
"""

import ctypes
import subprocess
import sys

POINTER = ctypes.c_void_p
CREATORS = {
    "instr": "_ZN4llvm37createPGOInstrumentationUseLegacyPassE",
    "sample": "_ZN4llvm29createSampleProfileLoaderPassENS_9StringRefE",
}
ADD = "_ZN4llvm6legacy11PassManager3addEPNS_4PassE"


def addresses(library, exported):
    """Returns the addresses of the functions in the loaded library."""
    symbols = {}
    for line in subprocess.run(["nm", library], capture_output=True, text=True, check=True).stdout.splitlines():
        address, _, name = line.partition(" ")
        if address:
            symbols[name[2:]] = int(address, 16)
    anchor = "LLVMPY_CreatePassManager"
    base = ctypes.cast(getattr(exported, anchor), POINTER).value - symbols[anchor]
    return {name: base + address for name, address in symbols.items()}


def main(library, kind, module_file, *profiles):
    exported = ctypes.CDLL(library)
    exported.LLVMPY_GetGlobalContext.restype = POINTER
    exported.LLVMPY_ParseAssembly.restype = POINTER
    exported.LLVMPY_ParseAssembly.argtypes = [POINTER, ctypes.c_char_p, ctypes.POINTER(ctypes.c_char_p)]
    exported.LLVMPY_CreatePassManager.restype = POINTER
    exported.LLVMPY_RunPassManager.argtypes = [POINTER, POINTER]
    exported.LLVMPY_PrintModuleToString.argtypes = [POINTER, ctypes.POINTER(ctypes.c_char_p)]
    found = addresses(library, exported)

    def function(prefix, result, *arguments):
        address = next(address for name, address in found.items() if name.startswith(prefix))
        return ctypes.CFUNCTYPE(result, *arguments)(address)

    # The last argument, whether the profile is context-sensitive, exists since LLVM 9.
    create = function(CREATORS[kind], POINTER, POINTER, ctypes.c_size_t, ctypes.c_bool)
    add = function(ADD, None, POINTER, POINTER)
    with open(module_file, "rb") as file:
        assembly = file.read()
    for profile in profiles:
        text, message = ctypes.c_char_p(), ctypes.c_char_p()
        module = exported.LLVMPY_ParseAssembly(exported.LLVMPY_GetGlobalContext(), assembly, ctypes.byref(message))
        if not module:
            sys.exit(f"{module_file}: {message.value.decode()}")
        path = ctypes.create_string_buffer(profile.encode())
        manager = exported.LLVMPY_CreatePassManager()
        add(manager, create(ctypes.addressof(path), len(profile.encode()), False))
        exported.LLVMPY_RunPassManager(manager, module)
        exported.LLVMPY_PrintModuleToString(module, ctypes.byref(text))
        sys.stdout.write(text.value.decode() + "\f")


if __name__ == "__main__":
    main(*sys.argv[1:])
