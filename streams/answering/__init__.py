"""Who answers the questions of policies: models, embedders, tools, checkers and people, behind one ``World``."""
