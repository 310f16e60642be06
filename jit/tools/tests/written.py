from typing import List


def largest(numbers: List[int]) -> int:
    best = numbers[0]
    for number in numbers:
        if number <= best:
            continue
        best = number
    return best


def first(numbers: List[int]) -> int:
    return numbers[0]
