export function checkPrompt(_prompt: string, _param: string): void {}
