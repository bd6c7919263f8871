export const rowStart: number;
export function hashBar(h: number): number;
export function hashText(h: number, text: string): number;
export function hashInt(h: number, n: number): number;
export function finishRow(h: number): number;
export function hex(sum: number): string;
