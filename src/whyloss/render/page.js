// The report: each figure of the page is drawn in place of its still drawing.
JSON.parse(document.getElementById("figures").textContent).forEach(figure => {
  const box = document.getElementById(figure.name);
  try { charts.draw(box, figure); } catch (error) { box.classList.remove("drawn"); console.error(error); }
});
