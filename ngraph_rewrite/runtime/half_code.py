# SPDX-License-Identifier: Apache-2.0
"""Conversions between float16 and float32 that a processor without instructions for them calls by name.

Compilers expect them of a library that comes with C compilers, and that a Python process need not have. Integers and
float32 do all the work, so that nothing here calls them again. Rounding is to the nearest, to even where two are.
"""

from __future__ import annotations

CONVERSIONS = ("__extendhfsf2", "__truncsfhf2")
HALF = """
define float @ngraph_rewrite__extendhfsf2(half %value) {
  %short = bitcast half %value to i16
  %bits = zext i16 %short to i32
  %negative = and i32 %bits, 32768
  %sign = shl i32 %negative, 16
  %size = and i32 %bits, 32767
  %moved = shl i32 %size, 13
  %normal = add i32 %moved, 939524096              ; 112 << 23, the difference of the exponents' biases
  %infinite = or i32 %moved, 2139095040            ; 0x7f800000
  %is_nan = icmp ugt i32 %size, 31744              ; 0x7c00
  %quiet = select i1 %is_nan, i32 4194304, i32 0
  %not_finite = or i32 %infinite, %quiet
  %whole = uitofp i32 %size to float
  %tiny = fmul float %whole, 0x3E70000000000000    ; 2**-24, the smallest float16
  %subnormal = bitcast float %tiny to i32
  %is_finite = icmp ult i32 %size, 31744
  %is_normal = icmp uge i32 %size, 1024
  %large = select i1 %is_finite, i32 %normal, i32 %not_finite
  %found = select i1 %is_normal, i32 %large, i32 %subnormal
  %all = or i32 %found, %sign
  %result = bitcast i32 %all to float
  ret float %result
}

define half @ngraph_rewrite__truncsfhf2(float %value) {
  %bits = bitcast float %value to i32
  %sign = lshr i32 %bits, 16
  %negative = and i32 %sign, 32768
  %size = and i32 %bits, 2147483647
  %based = sub i32 %size, 939524096
  %cut = lshr i32 %based, 13
  %odd = and i32 %cut, 1
  %up = add i32 %odd, 4095
  %carried = add i32 %based, %up
  %normal = lshr i32 %carried, 13
  %positive = bitcast i32 %size to float
  %on_grid = fadd float %positive, 5.0e-01         ; the last bit of what is near 0.5 is the smallest float16
  %grid = bitcast float %on_grid to i32
  %subnormal = sub i32 %grid, 1056964608           ; the bits of 0.5
  %payload = lshr i32 %size, 13
  %kept = and i32 %payload, 1023
  %nan = or i32 %kept, 32256                       ; 0x7e00
  %is_normal = icmp uge i32 %size, 947912704       ; 2**-14
  %too_large = icmp uge i32 %size, 1199566848      ; 65520, which rounds to what is not there
  %is_nan = icmp ugt i32 %size, 2139095040
  %finite = select i1 %is_normal, i32 %normal, i32 %subnormal
  %or_infinite = select i1 %too_large, i32 31744, i32 %finite
  %found = select i1 %is_nan, i32 %nan, i32 %or_infinite
  %all = or i32 %found, %negative
  %short = trunc i32 %all to i16
  %result = bitcast i16 %short to half
  ret half %result
}
"""
