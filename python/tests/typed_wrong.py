"""Mistakes that mypy must find, one in each marked line."""
import hone

model = hone.Model("DIR", use="paint")  # wrong
label: int = model.predict("a").label  # wrong
hone.train(learning_rte=1)  # wrong
hone.train(learning_rate="fast")  # wrong
hone.pipeline("text-classification", model=3)  # wrong
