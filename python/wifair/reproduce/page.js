addEventListener('beforeprint', () => document.querySelectorAll('.legend').forEach(one => { one.open = true; }));
const box = document.querySelector('.filter');
if (box) {
  const show = () => {
    const wanted = new Set([...box.querySelectorAll('input[type=checkbox]')].filter(x => x.checked).map(x => x.value));
    const words = box.querySelector('input[type=search]').value.toLowerCase();
    let shown = 0;
    for (const row of document.querySelectorAll('[data-verdict]')) {
      const kinds = row.dataset.verdict.split(' ');
      row.hidden = !(kinds.some(kind => wanted.has(kind)) && row.textContent.toLowerCase().includes(words));
      shown += !row.hidden;
    }
    box.querySelector('output').textContent = shown + ' shown';
  };
  box.addEventListener('input', show);
  show();
}
