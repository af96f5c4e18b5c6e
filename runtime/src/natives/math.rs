//! Functions of the C mathematics library on `float` and `double`.

use super::natives;
use super::number::scale_by_two;

/// Mantissa in `[0.5, 1)` and exponent, as C's `frexp`; exact.
fn split(x: f64) -> (f64, i32) {
    if x == 0.0 || !x.is_finite() {
        return (x, 0);
    }
    // Subnormal numbers are scaled up first, so that the exponent field says everything.
    let (scaled, shift) = if x.abs() < f64::MIN_POSITIVE { (x * 2f64.powi(64), 64) } else { (x, 0) };
    let bits = scaled.to_bits();
    let exponent = ((bits >> 52) & 0x7ff) as i32 - 1022;
    let mantissa = f64::from_bits((bits & !(0x7ff << 52)) | (1022 << 52));
    (mantissa, exponent - shift)
}

macro_rules! functions {
    ($($float:ident $double:ident $method:ident;)*) => {
        natives! { UNARY;
            $(
                /// As in C.
                pure fn $float(x: f32) -> (y: f32) {
                    Ok(x.$method())
                }

                /// As in C.
                pure fn $double(x: f64) -> (y: f64) {
                    Ok(x.$method())
                }
            )*
        }
    };
}
functions! {
    ravel_math_sin_float ravel_math_sin_double sin;
    ravel_math_cos_float ravel_math_cos_double cos;
    ravel_math_tan_float ravel_math_tan_double tan;
    ravel_math_asin_float ravel_math_asin_double asin;
    ravel_math_acos_float ravel_math_acos_double acos;
    ravel_math_atan_float ravel_math_atan_double atan;
    ravel_math_sinh_float ravel_math_sinh_double sinh;
    ravel_math_cosh_float ravel_math_cosh_double cosh;
    ravel_math_tanh_float ravel_math_tanh_double tanh;
    ravel_math_asinh_float ravel_math_asinh_double asinh;
    ravel_math_acosh_float ravel_math_acosh_double acosh;
    ravel_math_atanh_float ravel_math_atanh_double atanh;
    ravel_math_exp_float ravel_math_exp_double exp;
    ravel_math_exp2_float ravel_math_exp2_double exp2;
    ravel_math_expm1_float ravel_math_expm1_double exp_m1;
    ravel_math_log_float ravel_math_log_double ln;
    ravel_math_log2_float ravel_math_log2_double log2;
    ravel_math_log10_float ravel_math_log10_double log10;
    ravel_math_log1p_float ravel_math_log1p_double ln_1p;
    ravel_math_sqrt_float ravel_math_sqrt_double sqrt;
    ravel_math_cbrt_float ravel_math_cbrt_double cbrt;
    ravel_math_floor_float ravel_math_floor_double floor;
    ravel_math_ceil_float ravel_math_ceil_double ceil;
    ravel_math_rint_float ravel_math_rint_double round_ties_even;
    ravel_math_round_float ravel_math_round_double round;
    ravel_math_trunc_float ravel_math_trunc_double trunc;
    ravel_math_fabs_float ravel_math_fabs_double abs;
}

macro_rules! binary_functions {
    ($($float:ident $double:ident $operation:expr;)*) => {
        natives! { BINARY;
            $(
                /// As in C.
                pure fn $float(x: f32, y: f32) -> (z: f32) {
                    let operation: fn(f32, f32) -> f32 = $operation;
                    Ok(operation(x, y))
                }

                /// As in C.
                pure fn $double(x: f64, y: f64) -> (z: f64) {
                    let operation: fn(f64, f64) -> f64 = $operation;
                    Ok(operation(x, y))
                }
            )*
        }
    };
}
binary_functions! {
    ravel_math_pow_float ravel_math_pow_double |x, y| x.powf(y);
    ravel_math_atan2_float ravel_math_atan2_double |x, y| x.atan2(y);
    ravel_math_fmod_float ravel_math_fmod_double |x, y| x % y;
    ravel_math_hypot_float ravel_math_hypot_double |x, y| x.hypot(y);
    ravel_math_copysign_float ravel_math_copysign_double |x, y| x.copysign(y);
}

macro_rules! classifications {
    ($($float:ident $double:ident $method:ident;)*) => {
        natives! { CLASSES;
            $(
                /// As in C.
                pure fn $float(x: f32) -> (holds: bool) {
                    Ok(x.$method())
                }

                /// As in C.
                pure fn $double(x: f64) -> (holds: bool) {
                    Ok(x.$method())
                }
            )*
        }
    };
}
classifications! {
    ravel_math_isnan_float ravel_math_isnan_double is_nan;
    ravel_math_isinf_float ravel_math_isinf_double is_infinite;
    ravel_math_finite_float ravel_math_finite_double is_finite;
}

natives! { PARTS;
    /// Sine and cosine.
    pure fn ravel_math_sincos_float(x: f32) -> (sine: f32, cosine: f32) {
        Ok(x.sin_cos())
    }

    /// Sine and cosine.
    pure fn ravel_math_sincos_double(x: f64) -> (sine: f64, cosine: f64) {
        Ok(x.sin_cos())
    }

    /// Mantissa in `[0.5, 1)` and exponent.
    pure fn ravel_math_frexp_float(x: f32) -> (mantissa: f32, exponent: i32) {
        let (mantissa, exponent) = split(f64::from(x));
        Ok((mantissa as f32, exponent))
    }

    /// Mantissa in `[0.5, 1)` and exponent.
    pure fn ravel_math_frexp_double(x: f64) -> (mantissa: f64, exponent: i32) {
        Ok(split(x))
    }

    /// `x * 2^n`.
    pure fn ravel_math_ldexp_float(x: f32, n: i32) -> (y: f32) {
        Ok(scale_by_two(f64::from(x), n.clamp(-400, 400)) as f32)
    }

    /// `x * 2^n`.
    pure fn ravel_math_ldexp_double(x: f64, n: i32) -> (y: f64) {
        Ok(scale_by_two(x, n))
    }

    /// Whole part and fraction, both with the sign of `x`.
    pure fn ravel_math_modf_float(x: f32) -> (whole: f32, fraction: f32) {
        let fraction = if x.is_infinite() { 0.0 } else { x.fract() };
        Ok((x.trunc(), fraction.copysign(x)))
    }

    /// Whole part and fraction, both with the sign of `x`.
    pure fn ravel_math_modf_double(x: f64) -> (whole: f64, fraction: f64) {
        let fraction = if x.is_infinite() { 0.0 } else { x.fract() };
        Ok((x.trunc(), fraction.copysign(x)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_split_and_join_exactly() {
        for x in [1.0, -0.75, 3.5e300, 5e-324, 2.2250738585072014e-308, f64::MAX, 0.1] {
            let (mantissa, exponent) = split(x);
            assert!((0.5..1.0).contains(&mantissa.abs()), "{x}");
            assert_eq!(scale_by_two(mantissa, exponent), x);
        }
        assert_eq!(split(8.0), (0.5, 4));
        assert_eq!(split(0.0), (0.0, 0));
    }
}
