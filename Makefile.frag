$(phplibdir)/rate_limit.so: $(srcdir)/Cargo.toml $(srcdir)/Cargo.lock $(shell find $(srcdir)/src -type f)
	PHP=$(PHP_EXECUTABLE) PHP_CONFIG=$(PHP_CONFIG) $(CARGO) build --locked --release --features php \
		--manifest-path $(srcdir)/Cargo.toml --target-dir $(builddir)/target
	@mkdir -p $(phplibdir)
	cp $(builddir)/target/release/librate_limit.so $@
