"""How it moves: drivers, runtimes, backbones, replay and the command line. The only folder that acts."""
