# Swift code has the style of `swift format`, and every script of the shell is understood by bash.
examples=contrib/examples
swift format lint --strict --recursive Package.swift Sources Tests "$examples"/{app,observability}/{Package.swift,Sources} "$examples/observability/Tests" || failed=1
git ls-files -z contrib .ci | xargs -0 grep -lZE '^#!.*(bash|/sh)$' | while IFS= read -r -d '' file; do bash -n "$file"; done || failed=1
for file in contrib/{lint,verify}.d/*.sh; do bash -n "$file" || failed=1; done
