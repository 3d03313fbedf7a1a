dnl For PIE and phpize: configure finds cargo, make calls it (Makefile.frag). ./build.sh needs neither.
PHP_ARG_ENABLE([rate_limit],
  [whether to enable rate_limit],
  [AS_HELP_STRING([--enable-rate_limit], [Enable sliding-window rate limiting])],
  [yes])

if test "$PHP_RATE_LIMIT" != "no"; then
  AC_PATH_PROG([CARGO], [cargo], [no])
  if test "$CARGO" = "no"; then
    AC_MSG_ERROR([cargo was not found. rate_limit is written in Rust: install Rust 1.88 or later])
  fi
  PHP_SUBST([CARGO])
  PHP_SUBST([PHP_CONFIG])
  PHP_ADD_MAKEFILE_FRAGMENT([$abs_srcdir/Makefile.frag], [$abs_srcdir], [$abs_builddir])
  PHP_MODULES="$PHP_MODULES \$(phplibdir)/rate_limit.so"
fi
