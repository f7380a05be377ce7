//! What people and programs read: show, overlap, order, diff, info. Knows only the models.
