/** Drawings of 24 by 24, of lines. */
const DRAWINGS = {
  overview: 'M4 20V10M10 20V4M16 20v-8M22 20H2',
  images: 'M3 5h18v14H3zM3 16l5-5 4 4 3-3 6 6M15.5 9h.01',
  chat: 'M4 5h16v11H10l-5 4v-4H4z',
  create: 'M12 3v6M12 15v6M3 12h6M15 12h6M6 6l2.5 2.5M15.5 15.5 18 18M18 6l-2.5 2.5M8.5 15.5 6 18',
  tasks: 'M10 6h11M10 12h11M10 18h11M3 6l1.5 1.5L7 5M3 12l1.5 1.5L7 11M3 18l1.5 1.5L7 17',
  usage: 'M12 3v9l6.5 6.5M12 3a9 9 0 1 0 9 9h-9',
  keys: 'M11 14a4.5 4.5 0 1 1-3-3.2L17 5h3v4h-2v2h-2z',
  teams:
    'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM2.5 20a6.5 6.5 0 0 1 13 0M16 4.5a3.5 3.5 0 0 1 0 6M18 14a6.5 6.5 0 0 1 3.5 6',
  models: 'M12 3l8.5 4.7v8.6L12 21l-8.5-4.7V7.7zM3.5 7.7 12 12.5l8.5-4.8M12 12.5V21',
  requests: 'M4 8h14M14 4l4 4-4 4M20 16H6M10 12l-4 4 4 4',
  settings: 'M4 7h9M19 7h1M4 17h1M11 17h9M16 4.5v5M8 14.5v5',
  api: 'M8 6l-6 6 6 6M16 6l6 6-6 6M14 4l-4 16',
  video: 'M3 6h12v12H3zM15 10.5l6-3.5v10l-6-3.5',
  audio: 'M4 9.5v5h4l5 4.5V5L8 9.5zM16.5 8.5a5 5 0 0 1 0 7M19 6a8.5 8.5 0 0 1 0 12',
  alerts: 'M6 17V11a6 6 0 0 1 12 0v6l2 2H4zM10 22h4',
  connect: 'M9 15l6-6M10 6.5 12.5 4a5 5 0 0 1 7 7L17 13.5M14 17.5 11.5 20a5 5 0 0 1-7-7L7 10.5',
  logo: 'M5 21V11a7 7 0 0 1 14 0v10zM5 13.5h14M12 4v17',
} as const;

export type IconName = keyof typeof DRAWINGS;

/** A small drawing in the colour of the text beside it. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={DRAWINGS[name]} />
    </svg>
  );
}
