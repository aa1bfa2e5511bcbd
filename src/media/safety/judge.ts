export interface Judgement {
  readonly flagged: boolean;
  readonly categories: Record<string, boolean>;
  readonly scores: Record<string, number>;
}

export function judge(text: string): Judgement {
  const flagged = text.includes('flag me');
  return {
    flagged,
    categories: { 'sexual/minors': flagged },
    scores: { 'sexual/minors': Number(flagged) },
  };
}
