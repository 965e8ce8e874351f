# Every file that names the version of netwatch names the same one.
contrib/packaging/version
