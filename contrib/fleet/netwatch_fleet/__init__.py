"""An overview of many machines that `netwatch mqtt` speaks for."""
