import { defineConfig } from 'vitepress';
import { SIDEBAR } from './pages.mjs';

/** Documents are no templates of Vue: `{{ … }}` in them is text. */
function withoutTemplates(markdown) {
  for (const kind of ['text', 'code_inline']) {
    const render = markdown.renderer.rules[kind];
    markdown.renderer.rules[kind] = (...given) =>
      render.apply(markdown.renderer.rules, given).replaceAll('{{', '&#123;&#123;');
  }
}

/** The anchor of a heading, as GitHub makes it. */
function anchorOf(heading) {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M} _-]/gu, '')
    .replaceAll(' ', '-');
}

export default defineConfig({
  title: 'Oriel',
  description: 'A command line for images, and a gateway to AI models that you host.',
  head: [['link', { rel: 'icon', href: '/icon.svg' }]],
  srcDir: '.pages',
  outDir: '.site',
  cacheDir: '.cache',
  markdown: { html: false, config: withoutTemplates, anchor: { slugify: anchorOf } },
  themeConfig: {
    search: { provider: 'local' },
    nav: [
      { text: 'Start', link: '/' },
      { text: 'Connect', link: '/connect' },
      { text: 'HTTP API', link: '/http' },
    ],
    sidebar: SIDEBAR.map(([text, pages]) => ({
      text,
      items: pages.map(([address, title]) => ({
        text: title,
        link: address === 'index' ? '/' : `/${address}`,
      })),
    })),
    outline: [2, 3],
  },
});
