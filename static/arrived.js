// Says that what stands before it has been drawn.
export function render({ model, el }) {
  el.style.display = "none"
  model.send_msg("drawn")
}
