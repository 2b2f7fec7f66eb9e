"""The documentation as a site: pages of ``docs/`` and generated ones, built by Zensical; tutorials that run; plots."""
