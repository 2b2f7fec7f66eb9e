"""The facts about operators, one file per family: schema, kind, promotion, names, description.

`mt_core.declarations._declare` is the language they are written in. From them come the wrappers (`mt_core.api`) and the
operator reference; a family is imported when one of its operators is first asked for.
"""
