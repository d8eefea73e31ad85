/* Numbers as text and back, exactly: the results of strtod and Python's repr, for numbers
   of usual size, in a tenth of the time.

   A decimal is w 10^e. For |e| <= 19, the power of ten fits into 64 bits, so products and quotients
   are exact in 128 bits, and rounding them once is correct. A double has at most 17 digits. Any 15
   digits survive the conversion to a double and back, so the shortest text of a double is that of
   15, 16 or 17 digits, without trailing zeros. */
#ifndef SKGOSS_DECIMALS_H
#define SKGOSS_DECIMALS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#define DECIMAL_MAX_EXPONENT 19
#define DECIMAL_ROOM 32 /* characters of a number and a space */

static const uint64_t decimal_power[DECIMAL_MAX_EXPONENT + 1] = {
    1u, 10u, 100u, 1000u, 10000u, 100000u, 1000000u, 10000000u, 100000000u, 1000000000u,
    10000000000u, 100000000000u, 1000000000000u, 10000000000000u, 100000000000000u,
    1000000000000000u, 10000000000000000u, 100000000000000000u, 1000000000000000000u,
    10000000000000000000u};

/* The kinds of numbers that are read: with inf and nan, with inf, and whole ones. */
enum { DECIMAL_FLOAT, DECIMAL_THRESHOLD, DECIMAL_INT };

#ifdef __SIZEOF_INT128__
typedef unsigned __int128 DecimalWide;

/* The number of bits of x, without leading zeros. */
static inline int decimal_bits(uint64_t x) { return x ? 64 - __builtin_clzll(x) : 0; }

/* x 2^shift, rounded once, where `sticky` says that x has lost a bit that was set: one bit
   can stand for all lost ones, which only decide whether x is above the middle of two doubles. */
static inline double decimal_scaled(DecimalWide x, int sticky, int shift)
{
    int surplus = decimal_bits((uint64_t)(x >> 64));
    uint64_t top = (uint64_t)(x >> surplus);
    sticky |= surplus > 0 && (x & (((DecimalWide)1 << surplus) - 1)) != 0;
    return ldexp((double)(top | (uint64_t)sticky), shift + surplus);
}

/* The double nearest to w 10^e; false if this code cannot compute it. */
static inline int decimal_to_double(uint64_t w, int e, double *value_out)
{
    if (e < -DECIMAL_MAX_EXPONENT || e > DECIMAL_MAX_EXPONENT)
        return 0;
    if (e >= 0) {
        *value_out = decimal_scaled((DecimalWide)w * decimal_power[e], 0, 0);
        return 1;
    }
    /* The quotient gets at least 56 bits, so that its lowest bit can be the sticky one. */
    uint64_t power = decimal_power[-e];
    int shift = 56 + decimal_bits(power) - decimal_bits(w);
    shift = shift > 0 ? shift : 0;
    DecimalWide x = (DecimalWide)w << shift, quotient = x / power;
    *value_out = decimal_scaled(quotient, quotient * power != x, -shift);
    return 1;
}

/* The shortest digits that are read back as a double, padded to 17 with zeros, and the place of the
   point: 0.d1 d2 ... 10^point. 0 if this code cannot compute them. */
static inline uint64_t decimal_shortest(double value, int *point_out)
{
    uint64_t bits, m;
    memcpy(&bits, &value, sizeof bits);
    int down = 1075 - (int)(bits >> 52 & 2047);
    m = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
    /* The neighbors of a power of two are not equally far from it. */
    if (m == UINT64_C(1) << 52 || !(value >= 1e-3 && value < 1e15))
        return 0;
    int before = 1; /* digits before the point, or minus the zeros after it */
    while (before < 15 && value >= (double)decimal_power[before])
        before++;
    if (value < 1.0)
        before = value >= 0.1 ? 0 : value >= 0.01 ? -1 : -2;
    *point_out = before;
    /* The value times 10^(17 - before) has 17 digits before the point. In units of 2^-down it is a
       whole number, and the gap to the next double is a power of ten. */
    uint64_t gap = decimal_power[17 - before], w = 0;
    DecimalWide x = (DecimalWide)m * gap;
    for (uint64_t step = 100; w == 0; step /= 10) {
        uint64_t below = (uint64_t)(x >> down);
        below -= below % step;
        DecimalWide above = x - ((DecimalWide)below << down), whole = (DecimalWide)step << down;
        if (2 * above == whole)
            return 0; /* a tie of two decimals */
        int up = 2 * above > whole;
        DecimalWide twice = 2 * (up ? whole - above : above);
        /* Readers round half a gap to the even double. */
        if (step == 1 || twice < gap || (twice == gap && m % 2 == 0))
            w = below + (up ? step : 0);
    }
    return w >= decimal_power[16] && w < decimal_power[17] ? w : 0;
}
#else
static inline int decimal_to_double(uint64_t w, int e, double *value_out) { return 0; }
static inline uint64_t decimal_shortest(double value, int *point_out) { return 0; }
#endif

/* Writes the eight digits of a number below 10^8, with leading zeros; returns their end. */
static inline char *decimal_write_8(uint32_t w, char *text_out)
{
    for (int i = 7; i >= 0; i--, w /= 10)
        text_out[i] = (char)('0' + w % 10);
    return text_out + 8;
}

/* Writes a double as Python's repr does; returns the length, 0 if this code cannot (then repr
   must). text_out: room for DECIMAL_ROOM characters, without a NUL at the end. */
static inline int decimal_write(double value, char *text_out)
{
    char digits[17], *at = text_out;
    int point, n = 17;
    if (value == 0 && !signbit(value)) {
        memcpy(at, "0.0", 3);
        return 3;
    }
    uint64_t w = decimal_shortest(fabs(value), &point);
    if (w == 0)
        return 0;
    digits[0] = (char)('0' + w / decimal_power[16]);
    w %= decimal_power[16];
    decimal_write_8((uint32_t)(w / decimal_power[8]), digits + 1);
    decimal_write_8((uint32_t)(w % decimal_power[8]), digits + 9);
    while (n > 1 && digits[n - 1] == '0')
        n--;
    if (value < 0)
        *at++ = '-';
    if (point <= 0) {
        memcpy(at, "0.0000", 2 + (size_t)-point);
        at += 2 - point;
        memcpy(at, digits, (size_t)n);
        at += n;
    } else {
        /* If fewer digits remain than the point needs, the zeros after them are used. */
        memcpy(at, digits, (size_t)point);
        at += point;
        *at++ = '.';
        n = n > point ? n - point : 1;
        memcpy(at, digits + point, (size_t)n);
        at += n;
    }
    return (int)(at - text_out);
}

/* Writes a whole number; returns the length. */
static inline int decimal_write_int(int64_t value, char *text_out)
{
    char digits[20], *first = digits + sizeof digits;
    uint64_t magnitude = value < 0 ? -(uint64_t)value : (uint64_t)value;
    do {
        *--first = (char)('0' + magnitude % 10);
    } while (magnitude /= 10);
    *text_out = '-';
    int n = (int)(digits + sizeof digits - first);
    memcpy(text_out + (value < 0), first, (size_t)n);
    return n + (value < 0);
}

/* A number at the beginning of a text. The text must end with a character that numbers lack. */
typedef struct {
    const char *end;  /* behind the number; NULL: there is none */
    int is_known;     /* whether `value` could be computed */
    int negative;
    uint64_t whole;   /* of a whole number of at most 18 digits */
    double value;
} Decimal;

/* Whether c is one of 0 to 9. */
static inline int decimal_is_digit(char c) { return c >= '0' && c <= '9'; }

/* Reads inf, nan or nan(ind); the latter two only for numbers of the kind DECIMAL_FLOAT. Returns
   the end, NULL if the text begins with none of them. */
static inline const char *decimal_word(const char *at, int kind, double *value_out)
{
    if (!strncmp(at, "inf", 3)) {
        *value_out = INFINITY;
        return at + 3;
    }
    if (kind != DECIMAL_FLOAT || strncmp(at, "nan", 3))
        return NULL;
    *value_out = NAN;
    return strncmp(at + 3, "(ind)", 5) ? at + 3 : at + 8;
}

/* Appends digits to a number, *w; counts those that do not fit. Returns their end. */
static inline const char *decimal_add(const char *at, uint64_t *w, int *n_left_out)
{
    for (; decimal_is_digit(*at); at++) {
        if (*w < UINT64_C(1000000000000000000))
            *w = 10 * *w + (uint64_t)(*at - '0');
        else
            ++*n_left_out;
    }
    return at;
}

/* Reads a number of a kind: -?digits[.digits][e[+-]digits], -?inf, or -?nan if the kind allows
   it. Numbers with more digits than 64 bits hold, or with large exponents, are left to the caller
   (`is_known` is 0). Exponents stop growing before they overflow. */
static inline Decimal decimal_read(const char *text, int kind)
{
    Decimal found = {NULL, 1, *text == '-', 0, 0.0};
    const char *at = text + found.negative, *first = at;
    int left_out = 0, exponent = 0;
    if (!decimal_is_digit(*at)) {
        if (kind != DECIMAL_INT)
            found.end = decimal_word(at, kind, &found.value);
        found.value = found.negative ? -found.value : found.value;
        return found;
    }
    at = decimal_add(at, &found.whole, &left_out);
    if (kind == DECIMAL_INT) {
        found.end = at - first <= 18 ? at : NULL;
        return found;
    }
    if (*at == '.') {
        first = ++at;
        at = decimal_add(at, &found.whole, &left_out);
        exponent = -(int)(at - first);
    }
    found.end = at;
    if (*at == 'e' || *at == 'E') {
        int negative = at[1] == '-', power = 0;
        at += 1 + (at[1] == '-' || at[1] == '+');
        if (!decimal_is_digit(*at)) {
            found.end = NULL;
            return found;
        }
        for (; decimal_is_digit(*at); at++)
            power = power < 100000 ? 10 * power + (*at - '0') : power;
        exponent += negative ? -power : power;
        found.end = at;
    }
    found.is_known = found.whole == 0
                     || (left_out == 0
                         && decimal_to_double(found.whole, exponent, &found.value));
    found.value = found.negative ? -found.value : found.value;
    return found;
}

#endif
